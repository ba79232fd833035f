// Package words puts policies into words for people: what one means (Explain), what changes from one to another
// (Compare), and what is doubtful about a document (Notes).
//
//	for _, s := range words.Explain(policy) {
//		fmt.Println(s.Text)
//	}
//
// The words may change between versions; programs decide by Decide, Evaluate and Terms of package odrl.
package words
