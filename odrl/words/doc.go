// Package words puts policies into words for people: the meaning of one (Explain), the changes from one to another (Compare), and
// problems of a document (Notes).
//
//	for _, s := range words.Explain(policy) {
//		fmt.Println(s.Text)
//	}
//
// The words may change between versions; programs use Decide, Evaluate and Terms of package odrl.
package words
