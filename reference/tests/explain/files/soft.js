try { require('fs').writeFileSync(process.argv[2], 'x') } catch (e) { console.log(e.message); process.exit(3) }
