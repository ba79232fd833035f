package engine

// Background work is done in steps, so that a call never waits for more than one of them.
const (
	StepRows = 100  // of one step, at most; as in the statements with LIMIT 100
	maxSteps = 1000 // of one kind of work
)

// Steps repeats a step, each in a separate transaction, until one finds less than most rows, and returns the total number found.
func Steps(most int, step func() (int, error)) (total int, err error) {
	for range maxSteps {
		n, err := step()
		if err != nil {
			return total, err
		}
		total += n
		if n < most {
			break
		}
	}
	return total, nil
}
