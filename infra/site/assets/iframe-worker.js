// Search of a site that is opened from a folder: browsers start no worker for file: addresses, so a hidden frame runs its script.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inner = frame.contentWindow;
      inner.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => new Promise((done, failed) => {
          const script = inner.document.createElement("script");
          script.src = new URL(each, url);
          script.onload = done;
          script.onerror = failed;
          inner.document.body.appendChild(script);
        })), Promise.resolve());
      inner.postMessageOut = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        if (this.onmessage) this.onmessage(event);
      };
      this.ready = new Promise((done) => {
        const script = inner.document.createElement("script");
        script.src = url;
        script.onload = done;
        inner.postMessage = (data) => inner.postMessageOut(data);
        inner.document.body.appendChild(script);
      });
      this.inner = inner;
    }
    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.inner.frameElement.remove();
    }
  };
}
