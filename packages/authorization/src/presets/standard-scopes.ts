import { inWords } from './preset.ts';

/** Scopes of OpenID Connect Core 1.0, sections 5.4 and 11, which mean the same everywhere. */
const standard = inWords({
  openid: ['Recognise your account', '识别您的账户'],
  profile: ['See your name', '查看您的姓名'],
  email: ['See your email address', '查看您的电子邮件地址'],
  offline_access: ['Stay connected while you are away', '在您离开时保持连接'],
});

/** The named ones of them, in plain words. */
export function standardScopes(...names: readonly ('openid' | 'profile' | 'email' | 'offline_access')[]) {
  return Object.fromEntries(Object.entries(standard).filter(([name]) => names.some(wanted => wanted === name)));
}
