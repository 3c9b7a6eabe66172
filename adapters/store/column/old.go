package column

// Old is a checkout of a page of [ports.Privacy.OldCheckouts].
type Old struct {
	Seq    int64
	ID     string
	Wanted bool // it is one of those that were asked for
}

// Wanted returns the ids of those that were asked for, of a page with at most limit checkouts, and where the next page
// begins: 0 at the end.
func Wanted(page []Old, limit int) (ids []string, next int64) {
	for _, o := range page {
		if o.Wanted {
			ids = append(ids, o.ID)
		}
	}
	if len(page) == limit {
		next = page[limit-1].Seq
	}
	return ids, next
}
