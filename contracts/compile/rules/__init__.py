"""Compiles rules to checks: one function for each kind of rule, in the table `lakegate.contracts.compile.rules.table`.

Readers convert each constraint of a document to a `Rule` of one of these kinds, with these arguments (texts as written, numbers
as `Decimal`):

======================  =======================================  ====================================================
kind                    arguments                                source
======================  =======================================  ====================================================
type                                                             the declared type of a field
required                                                         ODCS `required`, DCM NOT_NULL
unique                                                           ODCS `unique`, DCM UNIQUE
primaryKey              (fields in key order)                    ODCS `primaryKey`, DCM PRIMARY_KEY
enum                    values                                   ODCS 3.2 `enum`
pattern                 pattern (ECMA-262)                       ODCS `logicalTypeOptions.pattern`
minLength, maxLength    value                                    ODCS `logicalTypeOptions`
minimum, maximum        value, exclusive                         ODCS `logicalTypeOptions`
multipleOf              value                                    ODCS `logicalTypeOptions`
format                  value (email, uuid, uri, ipv4, …)        ODCS `logicalTypeOptions.format` of a string
timezone                                                         ODCS `logicalTypeOptions.timezone: true`
minItems, maxItems      value                                    ODCS `logicalTypeOptions` of an array
uniqueItems                                                      ODCS `logicalTypeOptions` of an array
minProperties           value                                    ODCS `logicalTypeOptions` of an object
maxProperties           value                                    ODCS `logicalTypeOptions` of an object
requiredMember          member                                   ODCS `logicalTypeOptions.required` of an object
rowCount                (comparison)                             ODCS library metric
nullValues              (comparison)                             ODCS library metric
missingValues           missingValues (comparison)               ODCS library metric
invalidValues           validValues, pattern, … (comparison)     ODCS library metric
duplicateValues         (fields; comparison)                     ODCS library metric
size, mean, stdev       parameter (tolerance)                    DCM table A.3
complete                parameter (tolerance)                    DCM table A.3
distinct                (tolerance)                              DCM `unique`
min, max                parameter (tolerance)                    DCM table A.3
allowedValues           parameter                                DCM table A.3
custom                  engine, call, args                       DCM `custom`, ODCS and DCS `custom`
sql                     query (comparison)                       ODCS and DCS `sql`
text                                                             ODCS and DCS `text`
foreignKey              (fields), to                             ODCS relationships, DCM FOREIGN_KEY
serviceLevel            property, value, unit                    ODCS `slaProperties`, DCM `serviceLevelAgreements`
nested                                                           constraints of nested fields
dateFormat              option, value                            constraints of dates in another format than ISO 8601
======================  =======================================  ====================================================

A DCM rule with several columns is one `Rule` with several fields: each field gives a check.
"""
