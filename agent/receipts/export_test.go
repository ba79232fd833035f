package receipts

// MaxFiles is how many files a book has.
const MaxFiles = maxFiles

// Limit sets the size after which a new file begins, in bytes.
func (b *Book) Limit(most int64) { b.most = most }
