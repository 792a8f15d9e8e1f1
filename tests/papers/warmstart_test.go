package papers

func (r *results) warmStart() string { return "" }
