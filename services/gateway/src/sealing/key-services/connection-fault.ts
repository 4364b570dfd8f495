import type { OutboundError } from '@postern/authorization';
import type { KeyServiceFault } from '@postern/vault';
import { outboundFailureOf } from '../../platform/outbound/outbound-failure.ts';

/** Returns why the gateway got no response of a key service that it could read. */
export function connectionFault(error: OutboundError): KeyServiceFault {
  switch (outboundFailureOf(error)?.code) {
    case 'blocked':
      return 'blocked';
    case 'timeout':
      return 'timeout';
    case 'redirected':
    case 'too_large':
      return 'unusable_response';
    case 'unknown_host':
      return 'unknown_host';
    case 'untrusted_certificate':
      return 'untrusted_certificate';
    default:
      return 'unreachable';
  }
}
