module ÿ
