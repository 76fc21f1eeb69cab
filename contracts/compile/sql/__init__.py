"""SQL of rules: parsed in the dialect of the contract and regenerated from an allow-listed AST.

The text of a contract's query is never executed. It is parsed (`parse`), and each node of its AST is looked up in a table of
forms (`translate`). A form generates the equivalent Spark SQL from generated names, fixed keywords and numbers. The tables are
the allow-list: a node without a form is never generated. A query that cannot be translated is either:

* **refused** (an error of the document): it is not a single SELECT of one number, or it reads something other than the datasets
  of its contract, or its cost has no bound;
* **untranslated** (the check is reported with status `skip`): it is harmless, but this version has no form for a part of it.
"""
