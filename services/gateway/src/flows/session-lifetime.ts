import type { GatewayConfig } from '../config/config-schema.ts';

/** How long a browser session lives, however it began, in milliseconds. */
export function sessionLifetime({ idleMinutes, absoluteHours }: GatewayConfig['browserSession']) {
  return { idleMs: idleMinutes * 60_000, absoluteMs: absoluteHours * 3_600_000 };
}
