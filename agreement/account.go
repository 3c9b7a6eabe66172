package agreement

// AccountMask is a bank account number as it is kept and shown: with [HiddenDigit] in the place of each hidden digit, such
// as 01-0902-•••••89-00.
type AccountMask string

// HiddenDigit stands in an AccountMask for a digit that is hidden.
const HiddenDigit = "•"
