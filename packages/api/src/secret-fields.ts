import type { PropertySchema } from './form/index.ts';
import { inertText, withoutEscapes } from './plain-text.ts';

/** Words that name what form mode must not carry (MCP: passwords, API keys, access tokens, payment credentials). */
const texts = [
  'passwords?|passwd|pwd|passphrases?|pass words?|passw(?:o|ö)rte?r?|kennw(?:o|ö)rte?r?|mots? de passe|contraseñas?|contrasenas?|senhas?|пароль',
  'secrets?|token|(?:access|api|auth|bearer|refresh) tokens|bearer|jwt|credentials?|cookie|session id|mnemonic|(?:seed|recovery) phrase',
  '(?:api|access|private|secret|signing|encryption|license|ssh|account) ?keys?|clave (?:de acceso|secreta|privada)|كلمة (?:المرور|السر)',
];
/** Secrets that are typed as digits. */
const digits = [
  '(?:one time|verification|security|recovery|backup|access|login|sms) codes?|otp|totp|2fa|mfa|pins?|tan|passcodes?',
  '(?:sicherheits|einmal|bestätigungs)codes?|codes? de (?:vérification|sécurité)|códigos? de (?:verificación|seguridad|verificação|segurança)',
  '(?:cvv|cvc)2?|(?:card|account) numbers?|(?:credit|debit) card',
];
/** Matches whole words, except in writing systems without spaces. */
const matcher = (words: readonly string[], unspaced: string) =>
  new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join('|')})(?![\\p{L}\\p{N}])|${unspaced}`, 'iu');
const DIGITS = matcher(digits, '暗証番号|验证码|驗證碼|確認コード|인증번호');
const SECRET = matcher([...texts, ...digits], `密码|密碼|口令|密钥|密鑰|令牌|パスワード|비밀번호|${DIGITS.source}`);
/** Names that only count or measure tokens: `token_count`, `tokenLimit`. */
const COUNTED = /\btoken (?:count|limit|budget|type|usage|price)\b/gi;

/** Normalises `apiKey`, `api_key`, `API-Key` and `APIKey` to the same words. Invisible characters do not separate what users read. */
function asWords(text: string): string {
  return inertText(withoutEscapes(text.toWellFormed()))
    .normalize('NFKC')
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll}{2})/gu, '$1 $2')
    .replace(/[\s\u0085\u2800_\-./]+/g, ' ')
    .replace(COUNTED, '');
}

/** Whether a text seems to ask for a secret. A heuristic: false does not prove the absence of a secret. */
export function mentionsSecret(text: string): boolean {
  return SECRET.test(asWords(text));
}

/** Names of HTTP headers and settings that carry a secret. As the label of a form field, they would mean something else. */
const CARRIERS = /\b(?:authorization|cookies|connection string)$/i;
/** Where money goes. Hiding it would hide what is decided. */
const DESTINATIONS = /\baccount numbers?\b/gi;

/** Last words of names of what is not the secret itself, but where it is, or which one it is: that decides, so it is shown. */
const ABOUT =
  /\b(?:path|file|filename|dir|directory|folder|name|id|address|url|uri|type|kind|device|message|title|label|policy|scopes?|(?:to|for) (?:delete|remove|revoke))s?$|^pwd$/i;

/** Whether the value of a member with this name is not shown, although the user decides on it. A heuristic, as above. */
export function isSecretName(name: string): boolean {
  const words = asWords(name).replace(DESTINATIONS, '');
  return !ABOUT.test(words) && (CARRIERS.test(words) || SECRET.test(words));
}

/** Whether a user types the value, and does not choose it. */
export function isTyped(property: PropertySchema): boolean {
  return ['string', 'number', 'integer'].includes(property.type) && !('enum' in property) && !('oneOf' in property);
}

/** {@link mentionsSecret} for the name and the texts of a field. A number can only be a secret of digits. */
export function namesSecret(name: string, { type, title = '', description = '' }: PropertySchema): boolean {
  if (type === 'boolean' || type === 'array') return false;
  const isSecret = type === 'string' ? mentionsSecret : (text: string) => DIGITS.test(asWords(text));
  return [name, title, description].some(isSecret);
}

/** Whether a field seems to ask for a secret that its user types. */
export function looksSecret(name: string, property: PropertySchema): boolean {
  return isTyped(property) && namesSecret(name, property);
}
