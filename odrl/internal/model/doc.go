// Package model reads an ODRL 2.2 document into its rules, one by one. It does not depend on a service, an agent or OPA.
//
// The steps for a document, one or two files each:
//
//	nodes      JSON tree → nodes: what the document has about one IRI, in all its places
//	read       nodes → Documents: every key consumed or reported, every term resolved (names, vocabulary)
//	expand     Document → Document: links from outside, inheritance and shared properties copied in (ODRL IM 2.7, 2.9)
//	check      what ODRL IM 2.2 does not permit; advise: what others may interpret differently
//	atoms      Document → NormalForm: one action, one target and one party of each function a rule (ODRL IM 2.7)
//	canonical  Document → canonical JSON-LD
//
// value, literal and place read the values of operands: exact numbers, durations and versions; times and texts; places. The Findings of a
// document list each problem once.
//
// No context, profile or right operand is ever fetched. Not supported: policies and profiles outside of the document, a @base, a @vocab
// other than ODRL's, and contexts within nodes.
package model
