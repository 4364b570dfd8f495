import type { Texts } from '../texts.ts';

export const common: Texts<'common'> = {
  'layout.help': '說明',
  'layout.privacy': '隱私權政策',
  'layout.terms': '服務條款',
  'layout.language': '語言：',
  'layout.passkeysChanged': '您的密碼金鑰於 {time} 有變更：新增或移除了一個。如果不是您本人操作，請立即通知 {brand}。',
  'layout.seePasskeys': '查看您的密碼金鑰',

  'link.open': '開啟 {host}',
  'link.newTab': '（在新分頁中）',

  'asker.label': '要求方',

  'facts.destination': '接下來將前往',
  'facts.person': '目前登入的帳戶',
  'facts.personHost': '透過 {host} 登入',

  'head.claimBoth': '表示這是在「{mcpClient}」中為「{tool}」發起的',
  'head.claimClient': '表示這是在「{mcpClient}」中發起的',
  'head.claimTool': '表示這是為了「{tool}」',
  'head.step': '第 {step} 步，共 {steps} 步',

  'match.text': '如果您的應用程式顯示核對碼，必須與此相同。',
  'match.other': '核對碼不同？請拒絕。',

  'words.of': '這是 {mcpServer} 的說法，並非 {brand} 的說法',

  'person.switch': '切換',
  'person.switchWhat': '帳戶',

  'decision.label': '您的決定',
  'decision.decline': '拒絕',
  'decision.endsSoon': '這項要求將在{relative}（{time}）失效。',
  'decision.ends': '這項要求將於 {time} 失效。',

  'next.close': '請關閉這個分頁，返回您剛才使用的應用程式。',
  'next.closeNamed': '請關閉這個分頁，返回您剛才使用的應用程式（該應用程式自稱「{mcpClient}」）。',
  'next.returning': '3 秒後返回 {host}。',
  'next.stay': '留在此頁',
  'next.return': '返回 {mcpServer}',

  'fault.operator': '在 {brand} 的營運者作出變更之前，這個步驟無法完成。請提供這個編號給他們：{reference}',

  'live.show': '顯示',
  'live.hide': '隱藏',
  'live.copy': '複製',
  'live.copied': '已複製',
  'live.ended': '這項要求已結束。',
  'live.see': '查看結果',
  'live.timeUp': '時間到了。',
};
