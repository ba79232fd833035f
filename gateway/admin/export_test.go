package admin

// OperationNames returns the method and the path of each operation, such as POST /agents/{id}/block.
func OperationNames(o *Operator) (names []string) {
	for _, one := range endpoints(o) {
		names = append(names, one.Name())
	}
	return names
}
