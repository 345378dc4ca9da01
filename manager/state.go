package manager

// State of a target's shared connection. The names are gRPC's, and everybody's:
//
//	idle → connecting → ready → idle; connecting or ready → backoff → connecting; any → closed
type State uint8

// The states.
const (
	StateIdle       State = iota // no connection, and nobody waits for one
	StateConnecting              // an attempt is under way
	StateReady                   // usable: ApiVersions, SASL and identity succeeded
	StateBackoff                 // the last attempt failed; waiting before the next
	StateClosed                  // the target is gone, or the manager ended
)

// NumStates is the number of states, for arrays indexed by State.
const NumStates = int(StateClosed) + 1

var stateNames = [NumStates]string{"idle", "connecting", "ready", "backoff", "closed"}

// String returns the name that metrics and logs use.
func (s State) String() string { return stateNames[s] }

// legal is the law: legal[from] holds every state that may follow.
var legal = [NumStates]map[State]bool{
	StateIdle:       {StateConnecting: true, StateBackoff: true, StateClosed: true},
	StateConnecting: {StateReady: true, StateBackoff: true, StateIdle: true, StateClosed: true},
	StateReady:      {StateIdle: true, StateBackoff: true, StateClosed: true},
	StateBackoff:    {StateConnecting: true, StateIdle: true, StateClosed: true},
	StateClosed:     {},
}

// Cause says why a connection ended.
type Cause uint8

// The causes.
const (
	CauseIdle             Cause = iota // nobody held it any more
	CauseRemote                        // the peer closed it
	CauseError                         // a reset, a silence, or an answer that breaks the protocol
	CauseReplaced                      // by a newer one: moved, re-resolved, or bounced on request
	CauseReauthentication              // its SASL session could not be renewed in place
	CauseShutdown                      // the target is gone, or the manager ended
)

// NumCauses is the number of causes, for arrays indexed by Cause.
const NumCauses = int(CauseShutdown) + 1

var causeNames = [NumCauses]string{"idle", "remote", "error", "replaced", "reauthentication", "shutdown"}

// String returns the name that metrics and logs use.
func (c Cause) String() string { return causeNames[c] }
