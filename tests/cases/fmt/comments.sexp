

; first

; second
(model m ; behind the name
  ; before an input
  (input table   f32 (rows 24))   ; a table

  (input indices i64 (lookups))
  (let x (nn.relu
    (emb.bag sum table indices offsets)))
  (output out ; the output
    x
    ; nothing more
  )
  (let features (nn.stack bottom
        (emb.bag sum table0 indices0 offsets0)
        (emb.bag sum table1 indices1 offsets1)
    ))
  (data (seed 1) (size rows 1000) (size bags 32) (table (uniform -1.0 1.0)) (offsets (ragged (mean 12) (empty 0.2)))
    (indices  (zipf 1.05))
    ) ; end
)	; last
