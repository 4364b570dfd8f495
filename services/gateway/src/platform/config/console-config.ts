import { operatorSignInConfigSchema } from '@postern/authorization';
import { z } from 'zod';
import { publicUrlSchema } from './config-values.ts';

/** Values of the claim that give a role. */
const roleValues = z.array(z.string().min(1).max(255)).max(50).default([]);

export const consoleConfigSchema = z.strictObject({
  publicUrl: publicUrlSchema.describe('Origin of the console. Its host name must differ from that of publicUrl.'),
  listen: z.strictObject({
    host: z.string().default('127.0.0.1'),
    port: z.int().min(0).max(65_535).describe('Must differ from all other ports.'),
  }),
  identityProvider: operatorSignInConfigSchema.describe('Where operators sign in, with a client of its own.'),
  roles: z
    .strictObject({
      claim: z
        .string()
        .min(1)
        .max(200)
        .describe('Claim of the ID token with the groups or roles of the operator: a name, or a path with dots.'),
      viewer: roleValues.describe('Values of the claim whose holders may look at lists, without persons.'),
      support: roleValues.describe('Values whose holders may also look at one person.'),
      operator: roleValues.describe('Values whose holders may also act, such as disconnect, redeliver or revoke.'),
    })
    .describe('Who may use the console. The highest role of an operator counts. Others are refused.'),
  session: z
    .strictObject({
      idleMinutes: z.int().min(1).max(1440).default(60).describe('Minutes after the sign-in or the last action.'),
      absoluteHours: z.int().min(1).max(24).default(8),
    })
    .prefault({}),
});

export type ConsoleConfig = z.infer<typeof consoleConfigSchema>;
