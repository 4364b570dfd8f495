import { z } from 'zod';

/** How much one gateway process takes on. Meanings and how to choose: docs/overload.md. */
export const overloadConfigSchema = z.strictObject({
  requestsInFlight: z
    .int()
    .min(8)
    .max(100_000)
    .default(512)
    .describe(
      'Requests that are worked on at once, waiting reads and event streams aside. What comes on top is told to come back.',
    ),
  eventLoopDelayMs: z
    .int()
    .min(20)
    .max(10_000)
    .default(300)
    .describe('How late the process may be with everything, lastingly, before it sends work away.'),
  waitingReads: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(15_000)
    .describe('Reads that may wait at once, of all MCP servers.'),
  eventStreams: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(15_000)
    .describe('Streams of events that may be open at once, of all MCP servers.'),
  connections: z
    .int()
    .min(16)
    .max(1_000_000)
    .default(20_000)
    .describe('TCP connections. Further ones are closed as soon as they come.'),
  redisCommands: z
    .int()
    .min(64)
    .max(1_000_000)
    .default(20_000)
    .describe('Commands that Redis may owe an answer. What comes on top fails at once.'),
  outboundPerHost: z
    .int()
    .min(1)
    .max(10_000)
    .default(100)
    .describe('Requests to one host of a provider, identity provider or payment processor at once.'),
  waitingPerProvider: z
    .int()
    .min(2)
    .max(100_000)
    .default(1000)
    .describe(
      'Requests that may wait at once for the answer of one provider, identity provider or payment processor. Those of one MCP server may be half of them.',
    ),
});

export const stopConfigSchema = z.strictObject({
  drainSeconds: z
    .number()
    .min(0)
    .max(120)
    .default(2)
    .describe(
      'After SIGTERM: how long it goes on serving while /readyz says no, so that a load balancer notices. More than the balancer’s check interval.',
    ),
  finishSeconds: z
    .number()
    .min(0.1)
    .max(60)
    .default(10)
    .describe('Then: how long requests under way may take before their connections are cut.'),
});

export type OverloadConfig = z.infer<typeof overloadConfigSchema>;
export type StopConfig = z.infer<typeof stopConfigSchema>;
