import type { Texts } from '../texts.ts';

export const common: Texts<'common'> = {
  'layout.help': '帮助',
  'layout.privacy': '隐私政策',
  'layout.terms': '服务条款',
  'layout.passkeysChanged': '您的通行密钥于 {time} 有变更：添加或移除了一个。如非您本人操作，请立即告知 {brand}。',
  'layout.language': '语言：',
  'layout.seePasskeys': '查看您的通行密钥',

  'link.open': '打开 {host}',
  'link.newTab': '（在新标签页中）',

  'asker.label': '请求方',

  'facts.destination': '接下来将前往',
  'facts.person': '当前登录账户',
  'facts.personHost': '通过 {host} 登录',

  'head.claimBoth': '据称由“{mcpClient}”发起，用途为“{tool}”',
  'head.claimClient': '据称由“{mcpClient}”发起',
  'head.claimTool': '据称用途为“{tool}”',
  'head.step': '第 {step} 步，共 {steps} 步',

  'match.text': '如果您的应用显示了核对码，必须与此一致。',
  'match.other': '不一致？请拒绝。',

  'words.of': '以上是 {mcpServer} 的话，并非来自 {brand}',

  'person.switch': '切换',
  'person.switchWhat': '账户',

  'decision.label': '您的决定',
  'decision.decline': '拒绝',
  'decision.endsSoon': '此请求将在{relative}（{time}）失效。',
  'decision.ends': '此请求将于 {time} 失效。',

  'next.close': '请关闭此标签页，返回您刚才使用的应用。',
  'next.closeNamed': '请关闭此标签页，返回您刚才使用的应用（该应用自称“{mcpClient}”）。',
  'next.returning': '3 秒后返回 {host}。',
  'next.stay': '留在此页',
  'next.return': '返回 {mcpServer}',

  'fault.operator': '在 {brand} 的运营方作出更改之前，这一步无法完成。请把此编号告诉他们：{reference}',

  'live.show': '显示',
  'live.hide': '隐藏',
  'live.copy': '复制',
  'live.copied': '已复制',
  'live.ended': '此请求已经结束。',
  'live.see': '查看结果',
  'live.timeUp': '时间已到。',
};
