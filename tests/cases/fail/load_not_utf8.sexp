; a table of cafés
(model m)
