import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const REDIS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
const OUTBOUND_SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];
/** People take from seconds to a day. */
const DECISION_SECONDS = [5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14_400, 86_400];
const LAG_SECONDS = [1, 2.5, 5, 10, 20, 30, 60, 300, 3600];

/**
 * Everything this gateway measures of itself. What each means is told in docs/observability.md, which a test holds against
 * this list. No label ever names a person, an elicitation, a connection, an MCP server or a host.
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
    issued: counter('postern_elicitations_issued_total', 'Asks that were answered', ['kind', 'disposition']),
    ended: counter('postern_elicitations_ended_total', 'Elicitations that ended', ['kind', 'outcome', 'reason']),
    decisionSeconds: histogram(
      'postern_elicitation_decision_seconds',
      'From issue to end',
      ['kind', 'outcome'],
      DECISION_SECONDS,
    ),
    returned: counter('postern_elicitations_returned_total', 'People brought back to the start', ['kind', 'trouble']),
    wrongPerson: counter('postern_wrong_person_total', 'Somebody else was at the browser', ['kind']),
    waitsOpen: gauge('postern_waits_open', 'Reads that wait for an end now'),

    requestSeconds: histogram(
      'postern_http_request_duration_seconds',
      'Requests answered',
      ['surface', 'method', 'route', 'status'],
      REQUEST_SECONDS,
    ),
    requestsInFlight: gauge('postern_requests_in_flight', 'Requests that are worked on now'),
    requestsShed: counter('postern_requests_shed_total', 'Requests turned away', ['class', 'reason']),
    circuitsOpen: gauge('postern_circuits_open', 'Circuits that stop requests after repeated timeouts', [
      'target',
      'name',
    ]),
    connectionsDropped: counter('postern_connections_dropped_total', 'Connections closed as soon as they came'),
    quotaExceeded: counter('postern_quota_exceeded_total', 'Requests beyond the storage quota of an MCP server'),
    callersRefused: counter('postern_callers_refused_total', 'API requests with a wrong credential'),

    refreshSeconds: histogram(
      'postern_token_refresh_duration_seconds',
      'Token sets renewed, or not',
      ['result', 'code'],
      OUTBOUND_SECONDS,
    ),
    tokenReads: counter('postern_token_reads_total', 'Access tokens and credentials handed to MCP servers', ['what']),
    connectionsEnded: counter('postern_connections_ended_total', 'Connections lost or disconnected', ['by', 'reason']),
    revocations: counter('postern_revocations_total', 'Revocations at providers', ['result', 'reason']),
    grantsLeft: counter('postern_grants_left_total', 'Grants that nobody holds and nobody ended', ['reason']),
    signIns: counter('postern_sign_ins_total', 'Sign-ins at the gateway', ['result']),
    callbacksRefused: counter('postern_callbacks_refused_total', 'Answers of providers refused', ['reason']),

    charges: counter('postern_charges_total', 'Charges at payment processors', ['result', 'code']),
    refundsNeeded: counter('postern_refunds_needed_total', 'Payments that must be paid back by hand', ['reason']),
    processorWebhooksRefused: counter('postern_processor_webhooks_refused_total', 'Webhooks refused', ['code']),
    webhookTrouble: counter('postern_webhook_trouble_total', 'What an operator must look at in webhooks', ['what']),
    liveChecks: counter('postern_live_checks_total', 'Typed credentials tried out', ['result']),
    passkeyRefusals: counter('postern_passkey_refusals_total', 'Passkeys refused', ['code']),

    redisSeconds: histogram('postern_redis_command_duration_seconds', 'Redis commands', ['command'], REDIS_SECONDS),
    redisErrors: counter('postern_redis_command_errors_total', 'Redis commands that failed', ['command', 'fault']),
    redisDurable: gauge('postern_redis_durable', 'Whether Redis keeps what the durability profile promises'),
    redisWritable: gauge('postern_redis_writable', 'Whether every master of Redis takes writes'),
    redisMemoryUsed: gauge(
      'postern_redis_memory_used_ratio',
      'Memory of the fullest master as a share of its maxmemory',
    ),
    redisLostShards: gauge('postern_redis_lost_shards', 'Shards of Redis that have lost their data'),
    redisRolledBack: counter('postern_redis_rolled_back_total', 'Times that Redis had gone back to an earlier state'),
    relayGaps: counter('postern_relay_gaps_total', 'Times that events were dropped before they were carried'),
    auditLinesLost: counter('postern_audit_lines_lost_total', 'Audit lines that are missing in the stream'),
    outboundSeconds: histogram(
      'postern_outbound_request_duration_seconds',
      'Requests to others',
      ['target', 'result'],
      OUTBOUND_SECONDS,
    ),

    expiryLagSeconds: histogram(
      'postern_expiry_lag_seconds',
      'From the time an elicitation was over until it was ended',
      [],
      LAG_SECONDS,
    ),
    sweeperRoundSeconds: gauge('postern_sweeper_round_seconds', 'The last round over all shards', ['task']),
    sweeperLastRound: gauge('postern_sweeper_last_round_timestamp_seconds', 'When the last round was done', ['task']),
    buildInfo: gauge('postern_build_info', 'Always 1', ['version', 'node']),
  };
}

export type Instruments = ReturnType<typeof createInstruments>;
