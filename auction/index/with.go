package index

import "adnet/auction/ranker"

// With returns the same campaigns indexed by another table. It takes about as long as [Build].
func (x *Index) With(table ranker.Table) *Index {
	all := make([]Campaign, 0, x.Len())
	for c := range x.All() {
		all = append(all, *c)
	}
	return Build(table, all)
}

// Weights returns the version of the learnt weights of the index, 0 for none.
func (x *Index) Weights() int64 { return x.base.table.Weights() }

// Learnt returns the lessons of clicks, nil for none.
func (x *Index) Learnt() *ranker.Learnt { return x.base.table.Learnt }
