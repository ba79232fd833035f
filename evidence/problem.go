package evidence

// A ProblemName names a kind of problem, as every verifier of this evidence reports it. docs/evidence.md describes the kinds.
type ProblemName string

// The names of problems.
const (
	ProblemAgreement     ProblemName = "AGREEMENT"               // an entry for another service, agent, agreement or key
	ProblemAmount        ProblemName = "AMOUNT"                  // two amounts of one execution, or wrong sums
	ProblemAnswer        ProblemName = "ANSWER"                  // the digest of a different output
	ProblemDecision      ProblemName = "DECISION"                // the digest of a different question to the policy
	ProblemDuplicate     ProblemName = "DUPLICATE"               // an entry that occurs twice
	ProblemEpoch         ProblemName = "EPOCH"                   // the state of the service was restored, or its epoch decreases
	ProblemFile          ProblemName = "FILE"                    // a line that is not a record
	ProblemFork          ProblemName = "FORK"                    // two histories: the service changed its books
	ProblemGap           ProblemName = "GAP"                     // entries are missing
	ProblemInvoice       ProblemName = "INVOICE"                 // an invoice that the entries contradict
	ProblemKey           ProblemName = "KEY"                     // a key that is unknown, or for another purpose
	ProblemLog           ProblemName = "LOG"                     // a checkpoint or a proof that does not verify
	ProblemOrder         ProblemName = "ORDER"                   // an entry in the wrong position
	ProblemPolicy        ProblemName = "POLICY"                  // a policy that the agent did not sign
	ProblemProof         ProblemName = "PROOF"                   // a proof of key that does not verify
	ProblemRequest       ProblemName = "REQUEST"                 // the digest of a different call
	ProblemSignature     ProblemName = "SIGNATURE"               // a signature that does not verify, or a string that is not a receipt
	ProblemState         ProblemName = "STATE"                   // a change of state that is not allowed
	ProblemStatement     ProblemName = "STATEMENT"               // a statement that the entries contradict
	ProblemUnknown       ProblemName = "UNKNOWN_EXECUTION"       // a charge for a call that the agent did not make
	ProblemNotLogged     ProblemName = "RECEIPT_NOT_LOGGED"      // the log lacks a receipt after the merge delay
	ProblemUnreceipted   ProblemName = "CHARGED_WITHOUT_RECEIPT" // a charge without a receipt
	ProblemNotReconciled ProblemName = "NOT_RECONCILED"          // the service did not send data that the reconciliation needs
)

// A Problem is a contradiction or a gap in the evidence. Where identifies the entry, the execution or the line; it is empty if the problem
// concerns the whole evidence. Detail is a sentence for people; it contains no text that a service can choose freely.
type Problem struct {
	Name   ProblemName `json:"name"`
	Where  string      `json:"where"`
	Detail string      `json:"detail"`
}

// String returns the problem on one line.
func (p Problem) String() string {
	if p.Where == "" {
		return string(p.Name) + ": " + p.Detail
	}
	return string(p.Name) + " at " + p.Where + ": " + p.Detail
}
