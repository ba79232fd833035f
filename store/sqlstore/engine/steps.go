package engine

// Background work is done in steps, so that a call never waits for more than one step.
const (
	StepRows = 100  // maximum number of rows in a step; statements have LIMIT 100 accordingly
	maxSteps = 1000 // maximum number of steps that Steps runs
)

// Steps calls step, which must run a transaction and return how many rows it found, until a step finds fewer than limit rows or maxSteps
// steps have run. It returns the total number of rows.
func Steps(limit int, step func() (int, error)) (total int, err error) {
	for range maxSteps {
		n, err := step()
		if err != nil {
			return total, err
		}
		total += n
		if n < limit {
			break
		}
	}
	return total, nil
}
