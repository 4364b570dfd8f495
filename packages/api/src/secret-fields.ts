import type { PropertySchema } from './form/index.ts';
import { inertText, withoutEscapes } from './inert-text.ts';

/** Words that name what form mode must not carry (MCP: passwords, API keys, access tokens, payment credentials). */
const words = [
  'password|passwd|pwd|passphrase|passcode|pass word|passwort|mot de passe|contraseña|contrasena|senha|пароль',
  'secret|token|bearer|jwt|credentials?|cookie|session id|mnemonic|(?:seed|recovery) phrase',
  '(?:api|access|private|secret|signing|encryption|license|ssh|account) ?key',
  '(?:one time|verification|security|recovery|backup) codes?|otp|totp|2fa|mfa|pin',
  'cvv|cvc|(?:card|account) number|(?:credit|debit) card',
].join('|');
/** Matches whole words, except in writing systems without spaces. */
const SECRET = new RegExp(
  `(?<![\\p{L}\\p{N}])(?:${words})(?![\\p{L}\\p{N}])|密码|口令|密钥|令牌|パスワード|비밀번호`,
  'iu',
);
/** Names that only count or measure tokens: `token_count`, `tokenLimit`. */
const COUNTED = /\btoken (?:count|limit|budget|type|usage|price)\b/gi;

/** Normalises `apiKey`, `api_key`, `API-Key` and `APIKey` to the same words. Invisible characters do not separate what users read. */
function asWords(text: string): string {
  return inertText(withoutEscapes(text.toWellFormed()))
    .normalize('NFKC')
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/[\s\u0085\u2800_\-./]+/g, ' ')
    .replace(COUNTED, '');
}

/** Whether a text seems to ask for a secret. A heuristic: false does not prove the absence of a secret. */
export function mentionsSecret(text: string): boolean {
  return SECRET.test(asWords(text));
}

/** {@link mentionsSecret} for a field. Only free text can carry a secret. */
export function looksSecret(name: string, property: PropertySchema): boolean {
  if (property.type !== 'string' || 'enum' in property || 'oneOf' in property) return false;
  return [name, property.title ?? '', property.description ?? ''].some(mentionsSecret);
}
