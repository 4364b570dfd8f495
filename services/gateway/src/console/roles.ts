import type { BrowserSession } from '@postern/elicitation';
import type { ConsoleConfig } from '../platform/config/console-config.ts';

/** Roles of operators, each of which may do all that the ones before it may. */
export const roles = ['viewer', 'support', 'operator'] as const;
export type Role = (typeof roles)[number];

/**
 * Returns the highest role of an operator. Undefined without one. Derived from the configuration on every request, so that a value that
 * is removed from the configuration counts no longer.
 */
export function roleOf(
  { groups = [] }: Pick<BrowserSession, 'groups'>,
  configured: ConsoleConfig['roles'],
): Role | undefined {
  return roles.findLast(role => configured[role].some(value => groups.includes(value)));
}

export const mayActAs = (role: Role, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed);
