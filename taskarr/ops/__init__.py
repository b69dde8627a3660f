"""Operations, a module per family: each makes expressions and computes nothing."""
