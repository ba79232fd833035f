// Package model reads an ODRL 2.2 document and splits it into single rules. It does not depend on a service, an agent or OPA.
//
// A document passes through these steps, which are named after their files:
//
//	nodes      JSON tree → nodes: everything that the document states about one IRI, wherever it does so
//	read       nodes → Documents: every key is consumed or reported, every term is resolved (names, vocabulary)
//	expand     Document → Document: adds links that the document states elsewhere, inherited rules and shared properties (ODRL IM 2.7, 2.9)
//	check      reports violations of ODRL IM 2.2; advise warns about parts that other implementations may interpret differently
//	atoms      Document → NormalForm: each rule has one action, one target and one party for each function (ODRL IM 2.7)
//	canonical  Document → canonical JSON-LD
//
// The files value, literal and place parse the values of operands: exact numbers, durations, versions, times, texts and places. The
// Findings of a document list each problem once.
//
// The package never fetches a context, a profile or a right operand. It does not support policies or profiles outside the document, @base,
// a @vocab other than ODRL's, or contexts within nodes.
package model
