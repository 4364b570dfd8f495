import type { McpServer } from '@modelcontextprotocol/server';
import type { Gate } from '@postern/mcp';
import { z } from 'zod';
import { pickup } from './local-texts.ts';
import type { PickupDesk } from './pickup-desk.ts';
import { subjectOf } from './subject-of.ts';
import { answer } from './tool-results.ts';

const pickupSchema = z.object({
  day: z.iso.date(),
  code: z.string().min(6).max(20),
});

/** A tool with a form that contains a secret, which must not pass through the MCP client. */
export function registerPickup(mcpServer: McpServer, p: { gate: Gate; pickupDesk: PickupDesk }): void {
  mcpServer.registerTool(
    'reserve_locker',
    {
      title: 'Reserve a locker',
      description: 'Reserves a locker from which the user fetches their books. The user chooses day and code.',
    },
    p.gate.tool(async (_, ctx) => {
      const form = await ctx.gate.form(pickupSchema, {
        title: pickup.title,
        texts: { day: { title: pickup.day }, code: { title: pickup.code, description: pickup.codeHint } },
        secretFields: ['code'],
      });

      const { subject } = subjectOf(ctx.http?.authInfo);
      const locker = p.pickupDesk.reserve(form.idempotencyKey, { person: subject, ...form.content });
      return answer(`Locker ${locker} is reserved for ${form.content.day}.`);
    }),
  );
}
