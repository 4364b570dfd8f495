import type { Placeholder } from './preset.ts';

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const slug = /^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?$/;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Why a value may not stand for a placeholder; undefined when it may. Says nothing of the value itself. */
export function placeholderValueFault(placeholder: Placeholder, value: string): string | undefined {
  switch (placeholder.kind) {
    case 'host':
      return hostFault(placeholder, value);
    case 'slug':
      return slug.test(value) ? undefined : 'must be letters, digits, "-" and "_" only';
    case 'uuid':
      return uuid.test(value) ? undefined : 'must be a UUID, such as 00000000-0000-4000-8000-000000000000';
    case 'choice':
      return placeholder.choices.includes(value) ? undefined : `must be one of ${placeholder.choices.join(', ')}`;
  }
}

function hostFault({ within, port: portAllowed }: Extract<Placeholder, { kind: 'host' }>, value: string) {
  const [name = '', port, ...rest] = value.split(':');
  if (rest.length > 0 || (port !== undefined && !(portAllowed && isPort(port)))) {
    return portAllowed
      ? 'must be a host name, with a port at most'
      : 'must be a host name only, without scheme and path';
  }
  if (!isDnsName(name)) return 'must be a host name only, without scheme and path';
  const host = name.toLowerCase();
  if (within !== undefined && !within.some(domain => host === domain || host.endsWith(`.${domain}`))) {
    return `must be a host of ${within.join(' or ')}`;
  }
  return undefined;
}

const isPort = (value: string): boolean => /^[1-9]\d{0,4}$/.test(value) && Number(value) <= 65_535;

/** Never an IP address in any spelling: the last label of a DNS name does not begin with a digit (RFC 3696 section 2). */
function isDnsName(value: string): boolean {
  const labels = value.split('.');
  return value.length <= 253 && labels.every(part => label.test(part)) && !/^\d/.test(labels.at(-1) ?? '');
}
