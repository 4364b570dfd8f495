import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const REDIS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const OUTBOUND_SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
/** Users take from seconds to a day. */
const DECISION_SECONDS = [5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400];
const LAG_SECONDS = [1, 2.5, 5, 10, 20, 30, 60, 300, 3600];

/**
 * All metrics of the gateway. docs/observability.md explains them; a test compares it with this list. No label names a user, an
 * elicitation, a connection, an MCP server or a host.
 */
export function createInstruments(registry: Registry) {
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: readonly L[], buckets: number[]) =>
    new Histogram({ name, help, labelNames, buckets, registers });

  return {
    issued: counter('postern_elicitations_issued_total', 'Issued elicitations and reused results', [
      'kind',
      'disposition',
    ]),
    ended: counter('postern_elicitations_ended_total', 'Elicitations that ended', ['kind', 'outcome', 'reason']),
    decisionSeconds: histogram(
      'postern_elicitation_decision_seconds',
      'From issue to end',
      ['kind', 'outcome'],
      DECISION_SECONDS,
    ),
    returned: counter('postern_elicitations_returned_total', 'Elicitations that returned to pending', [
      'kind',
      'trouble',
    ]),
    wrongPerson: counter('postern_wrong_person_total', 'Browsers signed in as another user', ['kind']),
    waitsOpen: gauge('postern_waits_open', 'Open waiting reads'),

    requestSeconds: histogram(
      'postern_http_request_duration_seconds',
      'Duration of requests',
      ['surface', 'method', 'route', 'status'],
      REQUEST_SECONDS,
    ),
    requestsInFlight: gauge('postern_requests_in_flight', 'Requests in flight'),
    requestsShed: counter('postern_requests_shed_total', 'Requests shed', ['class', 'reason']),
    circuitsOpen: gauge('postern_circuits_open', 'Open circuits', ['target', 'name']),
    connectionsDropped: counter('postern_connections_dropped_total', 'Connections closed at the connection limit'),
    quotaExceeded: counter('postern_quota_exceeded_total', 'Requests that exceeded the storage quota of an MCP server'),
    callersRefused: counter('postern_callers_refused_total', 'API requests with a wrong credential'),

    refreshSeconds: histogram(
      'postern_token_refresh_duration_seconds',
      'Duration of token refreshes',
      ['result', 'code'],
      OUTBOUND_SECONDS,
    ),
    tokenReads: counter('postern_token_reads_total', 'Access tokens and credentials handed to MCP servers', ['what']),
    refreshAlarms: counter(
      'postern_refresh_alarms_total',
      'Alarms about refreshes refused for another reason than an ended grant',
      ['fault'],
    ),
    connectionsEnded: counter('postern_connections_ended_total', 'Connections lost or disconnected', ['by', 'reason']),
    revocations: counter('postern_revocations_total', 'Revocations at providers', ['result', 'reason']),
    grantsLeft: counter('postern_grants_left_total', 'Grants without a connection that were not revoked', ['reason']),
    signIns: counter('postern_sign_ins_total', 'Sign-ins at the gateway', ['result']),
    callbacksRefused: counter('postern_callbacks_refused_total', 'Callbacks refused', ['reason']),

    charges: counter('postern_charges_total', 'Charges at payment processors', ['result', 'code']),
    refundsNeeded: counter('postern_refunds_needed_total', 'Payments that must be paid back by hand', ['reason']),
    processorWebhooksRefused: counter('postern_processor_webhooks_refused_total', 'Webhooks refused', ['code']),
    webhookTrouble: counter('postern_webhook_trouble_total', 'Webhook problems that need the operator', ['what']),
    liveChecks: counter('postern_live_checks_total', 'Checks of typed credentials', ['result']),
    passkeyRefusals: counter('postern_passkey_refusals_total', 'Passkeys refused', ['code']),

    redisSeconds: histogram('postern_redis_command_duration_seconds', 'Redis commands', ['command'], REDIS_SECONDS),
    redisErrors: counter('postern_redis_command_errors_total', 'Redis commands that failed', ['command', 'fault']),
    redisDurable: gauge('postern_redis_durable', 'Whether Redis meets its durability profile'),
    redisWritable: gauge('postern_redis_writable', 'Whether every Redis master accepts writes'),
    redisMemoryUsed: gauge(
      'postern_redis_memory_used_ratio',
      'Memory of the fullest master as a share of its maxmemory',
    ),
    redisLostShards: gauge('postern_redis_lost_shards', 'Shards of Redis that have lost their data'),
    keyServiceUp: gauge('postern_key_service_up', 'Whether the key service of a vault key works', ['kid']),
    redisRolledBack: counter('postern_redis_rolled_back_total', 'Rollbacks of Redis to an earlier state'),
    relayGaps: counter('postern_relay_gaps_total', 'Gaps of events dropped before the relay read them'),
    auditLinesLost: counter('postern_audit_lines_lost_total', 'Audit lines missing in the audit stream'),
    outboundSeconds: histogram(
      'postern_outbound_request_duration_seconds',
      'Duration of outbound requests',
      ['target', 'result'],
      OUTBOUND_SECONDS,
    ),

    expiryLagSeconds: histogram(
      'postern_expiry_lag_seconds',
      'Delay between expiresAt and the expired status',
      [],
      LAG_SECONDS,
    ),
    sweeperRoundSeconds: gauge('postern_sweeper_round_seconds', 'Duration of the last sweep over all shards', ['task']),
    sweeperLastRound: gauge('postern_sweeper_last_round_timestamp_seconds', 'Time of the last sweep', ['task']),
    configReloads: counter('postern_config_reloads_total', 'Reloads of the configuration', ['result']),
    configLastReloadAccepted: gauge(
      'postern_config_last_reload_accepted',
      'Whether the last configuration that was loaded was accepted',
    ),
    configLastAccepted: gauge(
      'postern_config_last_accepted_timestamp_seconds',
      'Time when the last configuration was accepted',
    ),
    buildInfo: gauge('postern_build_info', 'Always 1', ['version', 'node']),
  };
}

export type Instruments = ReturnType<typeof createInstruments>;
