import unittest
class T(unittest.TestCase):
    def test_words(self):
        self.assertIn("Temporary failure in name resolution", "all is well")
unittest.main()
