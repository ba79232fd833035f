package receipts

// MaxFiles is the maximum number of files of a book.
const MaxFiles = maxFiles

// Limit sets the size after which a new file begins, in bytes.
func (b *Book) Limit(most int64) { b.most = most }
