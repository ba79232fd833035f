// Package receipts keeps an agent's evidence about its charges: each call that may cost money, the receipts of the service, and the newest
// checkpoint of the service's log. It checks each receipt against the call, and all receipts against the books of the service.
//
//	book := receipts.Open(path)
//	mark, err := book.Begin(ctx, call.Request, now)           // before the call is sent
//	receipt, problems := receipts.Check(text, keys, call) // after the response
//	problems, err = book.Add(ctx, mark, call, text, receipt, problems, now)
//	report, err := book.Verify()
//
// A book is one file for each service and agent, with a line of JSON for each record. Only its owner can read it. Each record is appended
// with a single write. A process that is killed therefore leaves at most an incomplete last line, which the next process removes. Several
// processes can share a book.
package receipts
