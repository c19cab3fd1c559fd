(modle a)
(model b)
(model)
42
