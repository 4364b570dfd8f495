import type { Texts } from '../texts.ts';

export const common: Texts<'common'> = {
  'layout.help': '帮助',
  'layout.passkeysChanged': '您的通行密钥于{time}有变更：添加或移除了一个。如非您本人操作，请立即告知{brand}。',
  'layout.seePasskeys': '查看您的通行密钥',

  'link.open': '打开 {host}',
  'link.newTab': '（在新标签页中）',

  'asker.label': '请求方',

  'facts.destination': '接下来将前往',
  'facts.code': '您的应用中会显示相同的代码',
  'facts.codeHint': '如果应用中的代码不同，或没有显示代码，请拒绝。',
  'facts.person': '当前登录账户',
  'facts.personHost': '通过 {host} 登录',
  'facts.switchAccount': '不是您？换一个账户',

  'message.heading': '来自 {mcpServer} 的留言',
  'message.note': '以上内容由 {mcpServer} 撰写，并非来自 {brand}。',
  'message.fromBoth': '据 {mcpServer} 称，此请求来自 {mcpClient}，用途为 {tool}。',
  'message.fromClient': '据 {mcpServer} 称，此请求来自 {mcpClient}。',
  'message.fromTool': '据 {mcpServer} 称，此请求的用途为 {tool}。',

  'decision.label': '您的决定',
  'decision.decline': '拒绝',
  'decision.endsSoon': '此请求将在{relative}（{time}）结束。',
  'decision.ends': '此请求将于 {time} 结束。',

  'next.close': '您可以关闭此窗口，返回 {mcpServer}。',
  'next.return': '返回 {mcpServer}',

  'fault.operator': '在 {brand} 的运营方作出更改之前，这一步无法完成。请把此编号告诉他们：{reference}',
};
