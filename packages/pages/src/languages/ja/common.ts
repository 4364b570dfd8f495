import type { Texts } from '../texts.ts';

export const common: Texts<'common'> = {
  'layout.help': 'ヘルプ',
  'layout.privacy': 'プライバシー',
  'layout.terms': '利用規約',
  'layout.language': '言語:',
  'layout.passkeysChanged':
    '{time}に、パスキーの追加または削除がありました。お心当たりがない場合は、すぐに {brand} へご連絡ください。',
  'layout.seePasskeys': 'パスキーを確認する',

  'link.open': '{host} を開く',
  'link.newTab': '（新しいタブで開きます）',

  'asker.label': 'リクエスト元',

  'facts.destination': '次に移動するサイト',
  'facts.person': 'ログイン中のアカウント',
  'facts.personHost': '{host} でログイン',

  'head.claimBoth': '「{mcpClient}」で「{tool}」のために開始されたとの申告',
  'head.claimClient': '「{mcpClient}」で開始されたとの申告',
  'head.claimTool': '「{tool}」のためとの申告',
  'head.step': 'ステップ {step}/{steps}',

  'match.text': 'アプリにコードが表示されている場合は、このコードと一致している必要があります。',
  'match.other': 'コードが違う場合は拒否してください。',

  'words.of': '{brand} ではなく、{mcpServer} の言葉です',

  'person.switch': '切り替え',
  'person.switchWhat': '（アカウント）',

  'decision.label': '選択してください',
  'decision.decline': '拒否',
  'decision.endsSoon': 'このリクエストの有効期限は{relative}（{time}）です。',
  'decision.ends': 'このリクエストの有効期限は{time}です。',

  'next.close': 'このタブを閉じて、元のアプリに戻ってください。',
  'next.closeNamed': 'このタブを閉じて、元のアプリ（「{mcpClient}」と名乗っています）に戻ってください。',
  'next.returning': '3 秒後に {host} に戻ります。',
  'next.stay': 'このページにとどまる',
  'next.return': '{mcpServer} に戻る',

  'fault.operator':
    '{brand} の運営者が設定を変更するまで、この操作はできません。次の番号を運営者にお伝えください: {reference}',

  'live.show': '表示',
  'live.hide': '非表示',
  'live.copy': 'コピー',
  'live.copied': 'コピーしました',
  'live.ended': 'このリクエストは終了しました。',
  'live.see': '結果を見る',
  'live.timeUp': '期限が切れました。',
};
