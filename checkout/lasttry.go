package checkout

// LastTry is the outcome of a payer's last try to set up the direct debit, where there is to be another. It chooses
// the words of the setup page and decides nothing.
type LastTry string

const (
	TryNone             LastTry = ""                  // no try was made, or it led to a direct debit or still may
	TryUnfinished       LastTry = "unfinished"        // the payer left the processor's page, closed it or let it expire
	TryBegun            LastTry = "begun"             // the payer went to the processor, which was not asked since
	TryUnknown          LastTry = "unknown"           // the processor does not answer: the payer may have finished
	TryCancelled        LastTry = "cancelled"         // it was cancelled before there was a mandate
	TryMandateFailed    LastTry = "mandate failed"    // the bank or the processor refused the mandate
	TryMandateCancelled LastTry = "mandate cancelled" // by the payer or the bank
	TryMandateBlocked   LastTry = "mandate blocked"   // the processor takes no mandate of this payer or account
	TryMandateExpired   LastTry = "mandate expired"
)

// LastTry returns what became of the last try, by what is known of the setup.
func (s Setup) LastTry() LastTry {
	switch {
	case s.BillingRequestID == "", s.complete(), s.Settling():
		return TryNone
	case s.Mandate == MandateFailed:
		return TryMandateFailed
	case s.Mandate == MandateCancelled:
		return TryMandateCancelled
	case s.Mandate == MandateBlocked:
		return TryMandateBlocked
	case s.Mandate.Dead():
		return TryMandateExpired
	case s.BillingRequest == BillingCancelled:
		return TryCancelled
	}
	return TryUnfinished
}

// Unanswered returns the last try where the processor was asked and did not answer, so that the record may be behind.
func (t LastTry) Unanswered() LastTry {
	if t == TryUnfinished {
		return TryUnknown
	}
	return t
}
