import type { Texts } from '../texts.ts';

export const authorization: Texts<'authorization'> = {
  'connect.heading': '{mcpServer} が {provider} アカウントの使用を求めています',
  'connect.resource': 'アクセスの対象',
  'connect.scopesUnnamed': '許可される内容は、同意の前に {provider} で表示されます。',
  'connect.accept': '続ける',
  'connect.reassurance': '{provider} で同意するまで、情報は共有されません。',
  'connect.providerDenied': '{provider} で同意されませんでした。もう一度試すか、拒否してください。',
  'connect.providerUnavailable': '{provider} が応答しませんでした。しばらく待ってから、もう一度お試しください。',
  'connect.providerRefused': '{provider} がリクエストを拒否しました。もう一度試すか、拒否してください。',
  'connect.wrongAccount':
    '必要な {provider} アカウントとは別のアカウントでした。正しいアカウントを選択するか、拒否してください。',
  'connect.startAgain': '前回の操作が中断されました。ここからやり直してください。',
  'connect.fewerScopes':
    '{mcpServer} に必要な権限の一部が {provider} で許可されませんでした。もう一度試してすべて許可するか、拒否してください。',
  'connect.missing': '不足している権限',
  'connect.scopesChanged':
    'このページを開いている間に、{mcpServer} のリクエストが変更されました。もう一度ご確認ください。',
  'connect.again.refused':
    '{date}の {provider} との連携は使用できなくなりました。続けるには、もう一度連携してください。',
  'connect.again.rejected':
    '{date}にアカウントを連携しましたが、{mcpServer} からのリクエストが {provider} に拒否されました。続けるには、もう一度連携してください。',
  'connect.again.expired': '{date}の {provider} との連携は期間限定でした。続けるには、もう一度連携してください。',
  'connect.again.more_scopes':
    '{date}に {provider} アカウントを連携しました。{mcpServer} は、そのとき同意した範囲を超える権限を必要としています。',

  'connect.continue': '{host} に進む',

  'risk.summary': '概要',
  'risk.delete': '削除できるもの',
  'risk.change': '変更できるもの',
  'risk.other': 'その他できること',
  'risk.see': '閲覧できるもの',
  'risk.deletes': '削除: {count}件',
  'risk.changes': '変更: {count}件',
  'risk.others': 'その他: {count}件',
  'risk.sees': '閲覧: {count}件',
  'risk.new': '今回新たに求められている権限',
  'risk.known': 'すでに許可している権限',
  'risk.more': '他{count}件',

  'scope.count': '{count}件の権限',
  'scope.openid': 'アカウントの識別',
  'scope.profile': '名前の表示',
  'scope.email': 'メールアドレスの表示',
  'scope.offlineAccess': '不在時のアクセスの維持',

  'leaving.heading': '{provider} に移動します',
  'leaving.text':
    '{mcpServer} によるアカウントの使用を許可するかどうか、{provider} で確認されます。完了すると、ここに戻ります。',
  'leaving.continue': '{host} に進む',
  'leaving.back': '戻る',

  'device.heading': '{provider} でコードを入力',
  'device.text': '{mcpServer} がアカウントを使用する前に、{provider} で短いコードの入力が必要です。',
  'device.safety':
    'ご自身で開始した場合にのみ続けてください。他の人から送られてきたコードは、絶対に入力しないでください。',
  'device.copy': 'このコードをコピーするか、書き留めてください。',
  'device.enter': '{provider} でコードを入力し、同意してください。',
  'device.return': '{provider} に完了と表示されたら、ここに戻ってください。',
  'device.back': '戻る',
  'device.check': 'コードを入力しました',
  'device.notice.not_yet': '{provider} で、コードの入力と同意がまだ完了していません。',
  'device.notice.wait': '{provider} の処理に少し時間がかかっています。数秒待ってから、もう一度お試しください。',
  'device.endsSoon': 'このコードの有効期限は{relative}（{time}）です。',
  'device.ends': 'このコードの有効期限は{time}です。',

  'done.heading': '{provider} アカウントを連携しました',
  'done.account': 'アカウント',
  'done.scopes': '{mcpServer} ができるようになったこと',
  'done.connections': '連携中のアカウントの確認と解除はいつでもできます',
};
