"""SQL of rules: parsed in the dialect of the contract, said anew in words of our own.

A query of a contract is never handed on. It is parsed (`parse`), and every node of its tree is looked up in a table of forms
(`translate`): each form says the same in Spark's SQL, made of generated names, our own key words and numbers. What has no form
is not said, so that the tables *are* the allow-list. Two things can happen to the rest:

* **refused** (an error of the document): it is no single SELECT of one number, or it reaches beyond the datasets of its
  contract, or nobody can say what it costs;
* **untranslated** (the rule is named, `skip`): it is harmless, and this version has no form for it.
"""
