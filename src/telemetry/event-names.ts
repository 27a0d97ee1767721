/**
 * The names of all log lines, each with what it says: the one table that log lines are held to by a test. A name is
 * constant and in the past or present of what happened, in small letters with underscores; facts stand in fields.
 */
export const eventNames = {
  // server
  server_ready: 'all doors are open',
  server_stopped: 'it was told to stop, and has',
  server_failed: 'it could not start, or not stop in order',
  store_awaited: 'the store is out of reach while the server starts; it is tried again',
  store_failed: 'the store cannot go on, and so the server cannot',
  history_not_compacted: 'etcd did not compact its history; it is tried again with a later commit',
  history_lost: 'others have compacted the history of etcd beyond what was told; it is read anew',
  outcome_unknown: 'etcd did not say what became of a transaction that it was sent',
  outcome_settled: 'what became of that transaction is known: it was committed, or never will be',
  admin_token_made: 'an administrator was made, and the token written to a file',
  tls_files_unusable: 'the files of TLS have changed and cannot be used; those of before stay in force',
  traces_not_sent: 'the receiver of traces does not take them; they are lost until it does',
  data_key_created: 'a first start made the file of the keys that seal secrets',
  data_key_retired: 'nothing in the store is sealed with this key any more: it can be taken out of its file',
  data_keys_renewed: 'the file of the keys that seal secrets has others, which are in use now',
  data_keys_unusable: 'the keys that seal secrets were changed to some that cannot be used: those in use stay so',
  data_keys_not_retired: 'what former data keys have sealed could not be sealed anew; the next start tries again',
  store_migrating: 'the store is of an earlier version and is brought to the present one',
  store_migrated: 'the store is of the present version',
  backup_made: 'a backup was asked for',
  restore_begun: 'a restore has marked the store: no controller is ready until it ends',
  restore_ended: 'the store holds what the backup held',
  restore_awaited: 'the store is not whole: this controller starts when a restore has come to its end',

  // api
  request_answered: 'a REST request has its answer',
  request_failed: 'a REST request met a bug',
  login_failed: 'somebody said who they are and was not believed',
  issuer_unavailable: 'the OpenID provider cannot be asked, so that nobody can tell whether a token is good',
  access_refused: 'somebody asked for what they may not do',
  audit: 'somebody wrote something, or was refused: the record as it is kept in the store',
  audit_not_stored: 'records of refusals could not be stored; it is tried again',
  watch_behind: 'a watch was too slow for the changes that are kept, and is ended',
  history_left: 'former specs of deleted objects could not be removed',

  // control
  watch_failed: 'the watch of the store broke off and is begun again where it was',
  watch_compacted: 'the store no longer has the changes since then and is read anew',
  unknown_kind: 'the store has an object of a kind that a later version knows',
  derivation_failed: 'a row of the View could not be computed: a bug, confined to the row',
  pinned_generation_missing: 'the last good spec of a refused object is no longer in the store',
  search_step: 'a search for the object at fault in a refused resource went on',
  object_convicted: 'an object was found to be at fault and is held back',
  leadership_won: 'this controller leads from now on',
  leadership_lost: 'another controller may lead now: this one has stopped to decide',
  election_failed: 'this controller runs for leader no more: a bug',
  controller_cleared: 'what a controller left that is no more was cleared away',
  controllers_not_cleared: 'what controllers left could not be cleared away; it is tried again',
  transitions_not_stored: 'times of conditions could not be stored; it is tried again',
  searches_not_stored: 'what a search decided could not be stored; it is tried again',
  retention_failed: 'what is too old or too much could not be taken away; it is tried again',
  drains_not_stored: 'what drains could not be stored; it is tried again',

  // observe
  node_registered: 'a proxy connected for the first time and has a Node now',
  presence_not_stored: 'that this controller is there could not be stored; it is tried again',
  deliveries_not_stored: 'how far the proxies are could not be stored; it is tried again',
  nodes_not_stored: 'what was seen of proxies could not be stored; it is tried again',
  events_not_stored: 'what happened could not be stored; it is tried again',
  refusals_not_stored: 'what proxies refused could not be stored; it is tried again',

  // pki
  join_token_created: 'a node may join by a token',
  node_joined: 'a node became a member by its token',
  certificate_renewed: 'a node got its next certificate',
  controller_certificate_issued: 'this controller made itself another certificate',
  controller_certificate_failed: 'this controller could not make itself another certificate; it is tried again',
  authority_not_read: 'the authority changed and could not be read; it is tried again',
  rotation_advanced: 'the replacement of the root went a step further',
  rotation_failed: 'the replacement of the root could not be looked at; it is tried again',
  ca_files_replaced: 'the files of the CA that signs have changed; the one in them signs from now on',
  ca_files_unusable: 'the files of the CA that signs have changed and cannot be used; the one of before signs on',
  authority_expiring: 'what signs for nodes and controllers ends soon, and their certificates with it',
  tls_files_replaced: 'the files of TLS have changed and are used from now on',

  // xds
  xds_listening: 'the xDS door is open',
  stream_opened: 'a client opened a stream',
  stream_closed: 'a stream has ended',
  stream_refused: 'a stream is ended for what its client asked',
  handshake_failed: 'a client could not agree with us on TLS, or showed no certificate that we trust',
  peer_refused: 'a client is not served, or no longer, for its certificate',
  secret_refused: 'a proxy asked for a secret of another fleet, and was told that there is none',
  slow_client_cut: 'a stream is ended because its client took nothing',
  xds_disconnected: 'a client of ours lost its stream and comes back',
  proxy_connected: 'the client of a stream said which proxy it is',
  proxy_disconnected: 'a proxy has lost a stream',
  proxy_stalled: 'a proxy did not answer, or needed something, past its deadline',
  resource_rejected: 'a proxy refused a resource',
  resource_withheld: 'a resource is not sent because proxies refused this form before',
  resource_accepted: 'a resource that was refused before is accepted now',
  store_unread: 'the store does not say how far it is: new streams get additions alone',
  head_failed: 'the newest revision of the store could not be read; it is tried again',
  client_status_incomplete: 'controllers did not answer: whoever asked got no more of their proxies than names',
  streams_sent_elsewhere: 'this controller has more proxies than its share, and has ended streams of some',
  controller_lags: 'this controller is too far behind the store: new streams are sent elsewhere',

  // libraries
  library_note: 'a library said something by itself, in `message`',
} as const;

export type EventName = keyof typeof eventNames;
