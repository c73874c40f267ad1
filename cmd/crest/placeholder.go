package main
type planCmd struct{}
func (planCmd) Run() error {return nil}
