// Package words describes policies in plain English: Explain describes the meaning of a policy, Compare the changes from one policy to
// another, and Notes the problems of a document.
//
//	for _, s := range words.Explain(policy) {
//		fmt.Println(s.Text)
//	}
//
// The wording may change between versions. Programs should use Decide, Evaluate and Terms of package odrl.
package words
