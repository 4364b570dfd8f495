import { z } from 'zod';

/** Overload limits of one gateway process, explained in docs/overload.md. */
export const overloadConfigSchema = z.strictObject({
  requestsInFlight: z
    .int()
    .min(8)
    .max(100_000)
    .default(512)
    .describe(
      'Maximum requests in flight, without waiting reads and event streams. Further requests are refused with Retry-After.',
    ),
  eventLoopDelayMs: z
    .int()
    .min(20)
    .max(10_000)
    .default(300)
    .describe('Sustained event loop delay above which the process sheds load.'),
  waitingReads: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(15_000)
    .describe('Maximum concurrent waiting reads of all MCP servers.'),
  eventStreams: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(15_000)
    .describe('Maximum open event streams of all MCP servers.'),
  connections: z
    .int()
    .min(16)
    .max(1_000_000)
    .default(20_000)
    .describe('Maximum TCP connections. Further ones are closed at once.'),
  redisCommands: z
    .int()
    .min(64)
    .max(1_000_000)
    .default(20_000)
    .describe('Maximum pending Redis commands. Further commands fail at once.'),
  outboundPerHost: z
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .describe('Maximum concurrent requests to one host of a provider, identity provider or payment processor.'),
  waitingPerProvider: z
    .int()
    .min(2)
    .max(100_000)
    .default(1000)
    .describe(
      'Maximum requests that wait for one provider, identity provider or payment processor. One MCP server may use half of them.',
    ),
});

export const stopConfigSchema = z.strictObject({
  drainSeconds: z
    .number()
    .min(0)
    .max(120)
    .default(5)
    .describe(
      'How long the gateway keeps serving after SIGTERM while /readyz responds with 503, so that load balancers notice. Set it higher than the interval of their health check times its failure threshold.',
    ),
  finishSeconds: z
    .number()
    .min(0.1)
    .max(60)
    .default(10)
    .describe('After that: timeout of in-flight requests, before the gateway closes their connections.'),
});

export type OverloadConfig = z.infer<typeof overloadConfigSchema>;
