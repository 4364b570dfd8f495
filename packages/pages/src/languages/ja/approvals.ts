import type { Texts } from '../texts.ts';

export const approvals: Texts<'approvals'> = {
  'approval.signInAgain': '再ログインして承認に進む',
  'approval.signInAgainWhy':
    'ログインしてから時間が経っています。ご本人であることを確認するため、承認の前にもう一度ログインしてください。',
  'approval.signInAgainConfirm': '再ログインして許可に進む',
  'approval.signInAgainConfirmWhy':
    'ログインしてから時間が経っています。ご本人であることを確認するため、許可の前にもう一度ログインしてください。',
  'approval.notice.sign_in_again':
    'ログインから時間が経ちすぎているため、承認されませんでした。もう一度ログインしてから選択してください。',
  'approval.notice.terms_changed': 'まだ承認されていません。内容をもう一度確認してから選択してください。',

  'payment.heading': '{mcpServer} が{amount}の支払いの承認を求めています',
  'payment.ask': '{mcpServer} が支払いの承認を求めています',
  'payment.payeeBefore': '支払先',
  'payment.payeeNotVerified': '{mcpServer} が示した支払先です。{brand} はこの支払先を確認していません。',
  'payment.approve': '{amount}を承認',
  'payment.payee': '支払先',
  'payment.amount': '金額',
  'payment.items': '支払いの内容',
  'payment.item': '品目',
  'payment.itemTotal': '価格',
  'payment.quantity': '{quantity} × {unit}',
  'payment.total': '合計',
  'payment.reference': '照会番号',
  'payment.testMode': 'テストモードです。実際の請求は発生しません。支払いとして扱わないでください。',
  'payment.accept': '承認',
  'payment.acceptWithPasskey': 'パスキーで承認',
  'payment.passkeyWhy':
    '次にパスキーを使用します。パスキーはデバイスに保存された鍵で、指紋、顔、または PIN でロックを解除します。',
  'payment.reassuranceProcessor': '承認後に {processor} で支払います。それまでは請求されません。',
  'payment.reassuranceDirect':
    '承認すると、{mcpServer} はこの金額を1回だけ請求できます。拒否した場合は請求されません。',
  'payment.notice.payment_not_finished':
    '支払いは完了しておらず、請求もされていません。もう一度試すか、拒否してください。',
  'payment.notice.processor_unavailable':
    '{processor} が応答せず、請求はされていません。しばらく待ってから、もう一度お試しください。',
  'payment.notice.processor_unavailableUnnamed':
    '決済サービスが応答せず、請求はされていません。しばらく待ってから、もう一度お試しください。',
  'payment.notice.passkey_failed': 'パスキーを確認できず、承認されませんでした。もう一度試すか、拒否してください。',

  'passkey.headingAssert': 'パスキーで{amount}を承認',
  'passkey.headingRegister': 'パスキーを追加して{amount}を承認',
  'passkey.textAssert':
    'デバイスで指紋、顔、または PIN の入力が求められます。{brand} 用にデバイスに保存された鍵（パスキー）のロックが解除されます。',
  'passkey.textRegister':
    'この支払いにはパスキーが必要です。パスキーはデバイスに保存される鍵で、指紋、顔、または PIN でロックを解除します。',
  'passkey.textRegisterNext': '追加は1回だけです。追加したパスキーで支払いを承認します。',
  'passkey.start': 'パスキーを使用',
  'passkey.add': 'パスキーを追加',
  'passkey.back': '戻る',
  'passkey.reassuranceAssert': 'パスキーを使用すると、この支払いが承認されます。',
  'passkey.reassuranceRegister': 'パスキーを追加しただけでは承認されません。',
  'passkey.noScript':
    'ブラウザでパスキーを使用するには、{technology} が必要です。有効にしてページを再読み込みするか、戻るか、拒否してください。',
  'passkey.waiting': 'デバイスに表示される手順に従ってください。',
  'passkey.sending': '完了しました。少々お待ちください。',
  'passkey.cancelled': 'パスキーは使用されませんでした。もう一度試すか、拒否してください。',
  'passkey.alreadyAdded':
    'このデバイスには、すでにパスキーがあります。戻ってそのパスキーで承認するか、別のデバイスを選んでください。',
  'passkey.failed': '操作に失敗しました。もう一度試すか、戻るか、拒否してください。',
  'passkey.unsupported':
    'このブラウザでは、このページでパスキーを使用できません。アプリのリンクを別のブラウザで開くか、拒否してください。',
  'passkey.notice.failed': 'パスキーを確認できず、承認されませんでした。もう一度試すか、拒否してください。',
  'passkey.notice.not_added': 'パスキーを追加できず、承認されませんでした。もう一度試すか、拒否してください。',

  'passkeySignIn.heading': 'パスキーを追加するには、もう一度ログインしてください',
  'passkeySignIn.text':
    'この支払いにはパスキーが必要ですが、まだ登録されていません。他の人がお客様の名前で追加できないように、先にもう一度ログインしてください。',

  'passkeyWait.heading': 'パスキーが新しすぎるため、この支払いには使用できません',
  'passkeyWait.from': 'パスキーは追加されたばかりです。この金額の支払いは、{time}から承認できます。',
  'passkeyWait.why':
    '他の人によるパスキーの追加や、覚えのないリセットに気づくための時間を設けています。お心当たりがない場合は、{brand} の運営者にご連絡ください。',

  'dailyLimit.heading': '24時間の上限に達しました',
  'dailyLimit.why':
    '{mcpServer} に対して24時間以内に承認できる金額は、{brand} の運営者が制限しています。この支払いは上限を超えるため、承認されませんでした。',
  'dailyLimit.from': 'リンクがそのとき有効であれば、{time}から承認できます。',

  'charge.heading': '承認しました。{processor} で{amount}を支払ってください',
  'charge.ask': '承認しました。{processor} で支払ってください',
  'charge.headingProcessing': '{processor} が支払いを処理しています',
  'charge.text': '{processor} が {payee} に代わって支払いを受け付けます。完了すると、ここに戻ります。',
  'charge.textProcessing': '数分かかることがあります。もう一度支払う必要はありません。',
  'charge.stop': '支払わない',
  'charge.continue': '{processor} に進む',
  'charge.tryAgain': 'もう一度試す',
  'charge.check': '支払いました（再確認）',
  'charge.checkProcessing': 'もう一度確認',
  'charge.reassurance': 'このページを何度開いても、支払いは1回だけです。',
  'charge.notice.processor_unavailable':
    '{processor} が応答しませんでした。しばらく待ってから、もう一度お試しください。',
  'charge.notice.not_paid_yet': '{processor} はまだ支払いを受け取っていません。',

  'receipt.headingPaid': '{amount}を支払いました',
  'receipt.headingApproved': '{amount}の支払いを承認しました',
  'receipt.record': 'これは承認の記録です。',
  'receipt.recordPaid': 'これは承認と支払いの記録です。',
  'receipt.heading': '控え',
  'receipt.number': '控え番号',
  'receipt.approvedAt': '承認日時',
  'receipt.how': '承認方法',
  'receipt.method': { select: 'method', button: 'このサイトのボタン', passkey: 'パスキー' },
  'receipt.by': '承認者',
  'receipt.askedBy': 'リクエスト元',
  'receipt.status': '支払い',
  'receipt.paid': '支払い済み',
  'receipt.paidAt': '{processor} で支払い済み',
  'receipt.collect': '{mcpServer} は1回だけ請求できます',
  'receipt.paidBack': '返金済み',
  'receipt.refund': '返金',
  'receipt.refundStatus': {
    select: 'status',
    pending: '{amount} を返金手続き中、受付 {time}',
    succeeded: '{amount} を返金済み、受付 {time}',
    failed: '{amount} の返金に失敗、受付 {time}',
  },
  'receipt.dispute': '銀行への異議申し立て',
  'receipt.disputeStatus': {
    select: 'status',
    open: '審査中です',
    won: '認められませんでした',
    lost: '認められました',
  },
  'receipt.open': '控えを印刷または保存',
  'receipt.signed': 'ファイルには {brand} の電子署名があります。本物で変更されていないことを誰でも確認できます。',
  'receipt.download': '署名付きファイルをダウンロード',

  'confirmation.heading': '{mcpServer} が操作の許可を求めています',
  'confirmation.headingCaution': '{mcpServer} が、注意を要する操作の許可を求めています',
  'confirmation.headingDestructive': '{mcpServer} が、元に戻せない操作の許可を求めています',
  'confirmation.acceptDestructive': '元に戻せない操作を許可',
  'confirmation.label': '許可する内容',
  'confirmation.stated': '{mcpServer} による説明です。',
  'confirmation.accept': '許可',
  'confirmation.acceptAction': '許可: {action}',
  'confirmation.reassurance': '{mcpServer} は、許可された場合にのみこの操作を行います。',
  'confirmation.notice.sign_in_again':
    'ログインから時間が経ちすぎているため、許可されませんでした。もう一度ログインしてから選択してください。',
  'confirmation.notice.terms_changed': 'まだ許可されていません。内容をもう一度確認してから選択してください。',

  'sent.heading': '送信される内容',
  'sent.hidden': '非表示',
  'sent.hiddenWhy':
    'パスワードなど、秘密を示す名前の値はここでは表示されません。許可する内容には、これらの値も含まれます。',
  'sent.unseenWhy': '{code} のような記号は、そのままでは見えない文字を表しています。',
  'sent.values': '{count}個の値',
  'sent.characters': '{count}文字',

  'confirmed.heading': '許可しました',
  'confirmed.label': '許可した内容',
  'confirmed.at': '許可日時',
};
