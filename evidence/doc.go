// Package evidence contains the evidence with which a gateway and its agents prove charges to each other.
//
// Each change of an account (a charge that is held, captured or released, a top-up, a reversal) is one Entry: a canonical JSON object (RFC
// 8785) that anyone can hash. The entries of one account form a chain: each contains its number and the hash of the previous one. A receipt
// is an entry that the gateway signed, as a compact JWS. The receipts of an agent therefore prove that its statement is complete, and two
// receipts with the same number prove that the gateway changed its books.
//
//	receipt, err := evidence.ParseReceipt(text)
//	if err := receipt.Verify(jwks); err != nil { … }
//	fmt.Println(receipt.Entry.Amount, receipt.Entry.K)
//
// The package only encodes, decodes and checks. The ledger makes the entries (store/sqlstore/ledger), and docs/evidence.md describes every
// format for readers who do not use this package.
package evidence
