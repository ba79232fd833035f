package log

// ValidCosignatures returns the lines of a response that are cosignatures of the witness with the given verifier key.
func ValidCosignatures(signed, response []byte, vkey string) [][]byte {
	witness, err := ParseCosigner(vkey)
	if err != nil {
		panic(err)
	}
	valid, _ := cosignatures(signed, response, witness)
	return valid
}
